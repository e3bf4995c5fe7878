-- COGRA (2019), section 1: the sell signals of q3, for sectors with more down-trends than a threshold. The paper names none.
RETURN sector, COUNT(*)
PATTERN Stock S+
SEMANTICS skip-till-any-match
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 10 seconds
HAVING COUNT(*) > 1000
