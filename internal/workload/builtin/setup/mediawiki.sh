# A new MediaWiki as its installer makes it, with its main page.
fill() {
	php /usr/share/mediawiki/maintenance/install.php --confpath /etc/mediawiki --dbtype mysql --dbserver "localhost:$socket" \
		--dbname mediawiki --dbuser mediawiki --dbpass mediawiki --installdbuser root --installdbpass '' \
		--server http://127.0.0.1 --scriptpath /mediawiki --skins Vector --pass 'no secret at all' tare Admin
	cat >>/etc/mediawiki/LocalSettings.php <<'PHP'
// The site is wherever it is asked for, and does nothing but answer.
$wgServer = 'http://' . ( $_SERVER['HTTP_HOST'] ?? '127.0.0.1' );
$wgJobRunRate = 0;
// Its texts are put together once, here, and not by the first who asks.
$wgCacheDirectory = '/opt/tare/mediawiki/cache';
$wgLocalisationCacheConf['manualRecache'] = true;
PHP
	mkdir -p /opt/tare/mediawiki/cache
	chmod a+r /etc/mediawiki/LocalSettings.php
	php /usr/share/mediawiki/maintenance/rebuildLocalisationCache.php --lang en --no-progress
	chmod -R a+rX /opt/tare/mediawiki/cache
	php /usr/share/mediawiki/maintenance/getText.php Main_Page | grep -q 'MediaWiki has been installed'
}
make_db /opt/tare/mediawiki/db fill
