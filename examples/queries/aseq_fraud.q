-- A-Seq (2014), section 1, application III, which prints no query: a pattern of purchases that comes again and again, worth more
-- than 10,000 in all, within ten minutes. A company that buys stands for a credit card, three purchases in a row for the pattern.
RETURN company, COUNT(*), SUM(B.price * B.volume) AS worth
PATTERN Stock B{3}
SEMANTICS skip-till-next-match
WHERE [company] AND B.side = 'buy'
GROUP-BY company
WITHIN 10 minutes SLIDE 1 minute
HAVING COUNT(*) >= 5 AND worth > 10000
