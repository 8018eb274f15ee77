# The R code behind the golden numbers in golden_test.go (R 4.2.2).
# Rscript golden.R; the tests do not need R.
options(digits = 15)
show <- function(name, ...) cat(name, format(c(...), digits = 15), "\n")

x <- c(12.1, 11.8, 12.5, 13.0, 12.2, 11.9, 12.7, 12.4)
y <- c(11.0, 11.1, 11.4, 11.9, 10.8, 11.2, 11.3, 11.5)

t <- t.test(log(x), log(y), paired = TRUE)
show("paired", exp(t$estimate), exp(t$conf.int), t$p.value)
t <- t.test(log(x), log(y), paired = TRUE, conf.level = 0.99)
show("paired99", exp(t$estimate), exp(t$conf.int), t$p.value)
t <- t.test(log(c(2, 3)), log(c(1, 1.4)), paired = TRUE)
show("paired n=2", exp(t$estimate), exp(t$conf.int), t$p.value)

# Student's own data (R's "sleep"), Welch: t = -1.8608, df = 17.776, p = 0.07939
t <- t.test(extra ~ group, data = sleep)
show("welch sleep", t$estimate[1] - t$estimate[2], t$conf.int, t$parameter, t$p.value)
t <- with(sleep, t.test(extra[group == 1], extra[group == 2], paired = TRUE))
show("paired sleep", mean(with(sleep, extra[group == 1] - extra[group == 2])), t$conf.int, t$parameter, t$p.value)

p <- c(0.01, 0.04, 0.03, 0.005, 0.5, 0.03)
show("holm", p.adjust(p, method = "holm"))

show("quantile", quantile(x, c(0, 0.05, 0.25, 0.5, 0.95, 1), type = 7))

fieller <- function(x, y, a = 0.05) {
  hx <- qt(1 - a/2, length(x) - 1) * sd(x) / sqrt(length(x))
  hy <- qt(1 - a/2, length(y) - 1) * sd(y) / sqrt(length(y))
  mx <- mean(x); my <- mean(y)
  r <- sqrt((mx * my)^2 - (mx^2 - hx^2) * (my^2 - hy^2))
  c(mx / my, (mx * my - r) / (my^2 - hy^2), (mx * my + r) / (my^2 - hy^2))
}
show("fieller", fieller(x, y), t.test(x, y)$p.value)

g <- list(c(1, 2, 3), c(2, 3, 5, 4), c(6, 7, 6))
a <- oneway.test(v ~ g, data.frame(v = unlist(g), g = factor(rep(1:3, lengths(g)))), var.equal = TRUE)
show("anova", a$p.value)
anytime <- function(m, s, n, rho, a) m + c(-1, 1) * s * sqrt(2 * (n * rho^2 + 1) / (n^2 * rho^2) * log(sqrt(n * rho^2 + 1) / a))
show("anytime", anytime(0.1, 0.05, 20, 0.5, 0.05))

k <- c(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9)
kt <- suppressWarnings(cor.test(k, seq_along(k), method = "kendall", exact = FALSE, continuity = TRUE))
show("kendall p", kt$p.value)

library(MASS)
show("huber", huber(chem, k = 1.5)$mu)

e <- c(0.001, -0.004, 0.006, 0.002, -0.003, 0.004)
show("equivalence", max(t.test(e, mu = -log(1.02), alternative = "greater")$p.value, t.test(e, mu = log(1.02), alternative = "less")$p.value))
