-- GRETA (2017), section 1: cars that slow down in a road segment without an accident before.
Q3: RETURN segment, COUNT(*), AVG(P.speed)
PATTERN SEQ(NOT Accident A, Position P+)
WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed
GROUP-BY segment
WITHIN 5 minutes SLIDE 1 minute
