-- A-Seq (2014), section 1, application II: a Kindle, then a case, then a stylus, by one user.
RETURN COUNT(*)
PATTERN SEQ(Kindle, KindleCase, Stylus)
WHERE Kindle.userId = KindleCase.userId = Stylus.userId
WITHIN 1 hour
