-- A-Seq (2014), section 6.2: the same without a trade of QQQ between the last two. Pass type="company".
RETURN COUNT(*)
PATTERN SEQ(DELL, IPIX, NOT QQQ, AMAT)
WITHIN 1 minute
