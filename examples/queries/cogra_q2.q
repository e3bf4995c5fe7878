-- COGRA (2019), section 1: trips and their average speed, per district.
q2: RETURN district, COUNT(*), AVG(T.speed)
PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
SEMANTICS skip-till-next-match
WHERE [driver, rider, district]
GROUP-BY district
WITHIN 30 minutes SLIDE 1 minute
