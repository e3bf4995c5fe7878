-- A-Seq (2014), section 6.2: the same without a trade of QQQ between the last two.
RETURN COUNT(*)
PATTERN SEQ(Stock D, Stock I, NOT Stock Q, Stock A)
WHERE D.company = 'DELL' AND I.company = 'IPIX' AND Q.company = 'QQQ' AND A.company = 'AMAT'
WITHIN 1 minute
