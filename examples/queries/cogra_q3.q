-- COGRA (2019), section 1: down-trends of prices per sector. The same as GRETA's Q1, with its semantics written out.
q3: RETURN sector, COUNT(*)
PATTERN Stock S+
SEMANTICS skip-till-any-match
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 10 seconds
