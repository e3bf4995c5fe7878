-- GRETA (2017), section 10.1: a variation of Q1, with prices that increase by 1 percent or more each time.
RETURN sector, COUNT(*)
PATTERN Stock S+
WHERE [company, sector] AND S.price * 1.01 < NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 10 seconds
