# A new WordPress as its installer makes it, with its first post.
cat >/etc/wordpress/config-default.php <<'PHP'
<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', 'wordpress');
define('DB_HOST', 'localhost:/data/tare-db.sock');
define('WP_CONTENT_DIR', '/var/lib/wordpress/wp-content');
// The site is wherever it is asked for, and does nothing but answer.
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST'] . '/wp');
define('WP_SITEURL', WP_HOME);
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
	define($name . '_KEY', "tare $name key");
	define($name . '_SALT', "tare $name salt");
}
PHP
fill() {
	sql -e "CREATE DATABASE wordpress; CREATE USER wordpress@localhost IDENTIFIED BY 'wordpress'; GRANT ALL ON wordpress.* TO wordpress@localhost"
	php <<'PHP'
<?php
$_SERVER['HTTP_HOST'] = '127.0.0.1';
define('WP_INSTALLING', true);
function wp_new_blog_notification() {} // there is nobody to send mail to
require '/usr/share/wordpress/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('tare', 'admin', 'admin@example.org', false, '', 'not a secret');
PHP
	sql -e "SELECT post_title FROM wordpress.wp_posts WHERE ID = 1" | grep -q 'Hello world!'
}
make_db /opt/tare/wordpress/db fill
