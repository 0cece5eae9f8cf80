-- The demo: departures from New York's airports in January 2013, joined with the planes and the airlines they name,
-- through two plugins, into an SQLite file and onto the console. Run it with `./dev demo`, which removes flights.db
-- first: run by hand a second time, the job appends the month again.
--
-- The data is real, with real gaps:
--   NA         What is unknown is written NA: a cancelled flight has no times and no delay. 'csv.null-literal' reads it
--              as NULL, and NULL stays NULL on its way: no departure time, class "cancelled".
--   tail       Some tail numbers are not in planes.csv (and some flights have none): the LEFT JOIN keeps such flights,
--              with NULL for the plane's columns.
--   2400       Times of day are hours and minutes run together: 517 is 05:17, and a landing at midnight is 2400, the end
--              of that day. The plugin function clock_time writes it 24:00.
--   hour       The columns hour and minute are the scheduled departure. The real one is computed from it and the delay,
--              so that a flight that left after midnight gets the right day.

CREATE FUNCTION delay_class AS 'delay_class' LANGUAGE WASM USING '../../plugins/built/flight_status.wasm';
CREATE FUNCTION clock_time AS 'clock_time' LANGUAGE WASM USING '../../plugins/built/flight_status.wasm';

CREATE TABLE flights (
  `year` INT, `month` INT, `day` INT,
  dep_delay INT,
  arr_time INT,
  carrier STRING,
  flight INT,
  tailnum STRING,
  origin STRING,
  dest STRING,
  distance INT,
  `hour` INT, `minute` INT,
  scheduled AS TO_TIMESTAMP(
    CONCAT(CAST(`year` AS STRING), '-', CAST(`month` AS STRING), '-', CAST(`day` AS STRING), ' ',
           CAST(`hour` AS STRING), ':', CAST(`minute` AS STRING)), 'yyyy-M-d H:m'),
  proctime AS PROCTIME()
) WITH (
  'connector' = 'filesystem',
  'path' = '../../data/flights/flights-2013-01.csv',
  'format' = 'csv', 'csv.header' = 'true', 'csv.null-literal' = 'NA'
);

CREATE TABLE planes (
  tailnum STRING, `year` INT, manufacturer STRING, model STRING, seats INT,
  PRIMARY KEY (tailnum) NOT ENFORCED
) WITH (
  'connector' = 'filesystem',
  'path' = '../../data/flights/planes.csv',
  'format' = 'csv', 'csv.header' = 'true', 'csv.null-literal' = 'NA'
);

CREATE TABLE airlines (
  carrier STRING, name STRING,
  PRIMARY KEY (carrier) NOT ENFORCED
) WITH (
  'connector' = 'filesystem',
  'path' = '../../data/flights/airlines.csv',
  'format' = 'csv', 'csv.header' = 'true'
);

CREATE VIEW enriched AS
SELECT
  f.origin, f.dest, f.flight, f.distance, f.dep_delay, f.arr_time, f.scheduled,
  TIMESTAMPADD(MINUTE, f.dep_delay, f.scheduled) AS departed,
  a.name AS airline,
  f.tailnum, p.manufacturer, p.model, p.`year` AS built, p.seats
FROM flights AS f
JOIN airlines FOR SYSTEM_TIME AS OF f.proctime AS a ON f.carrier = a.carrier
LEFT JOIN planes FOR SYSTEM_TIME AS OF f.proctime AS p ON f.tailnum = p.tailnum;

-- The whole month, for queries.
CREATE TABLE departures (
  airline STRING, flight INT, origin STRING, dest STRING,
  scheduled TIMESTAMP(0), departed TIMESTAMP(0), arrived STRING,
  dep_delay INT, delay STRING, distance INT,
  tailnum STRING, manufacturer STRING, model STRING, built INT, seats INT
) WITH (
  'connector' = 'sqlite',
  'path' = 'flights.db',
  'table' = 'departures'
);

INSERT INTO departures
SELECT airline, flight, origin, dest, scheduled, departed, clock_time(arr_time),
       dep_delay, delay_class(dep_delay), distance, tailnum, manufacturer, model, built, seats
FROM enriched;

-- The worst of it, for people: a plugin lays out the lines.
CREATE TABLE board (
  departed STRING, flight STRING, route STRING, late INT, arrived STRING, plane STRING
) WITH (
  'connector' = 'print',
  'format' = 'wasm',
  'wasm.module' = '../../plugins/built/console_table.wasm',
  'wasm.width' = '10'
);

INSERT INTO board
SELECT DATE_FORMAT(departed, 'MMM dd HH:mm'), airline || ' ' || CAST(flight AS STRING),
       origin || '-' || dest, dep_delay, clock_time(arr_time), COALESCE(manufacturer || ' ' || model, 'unknown plane')
FROM enriched
WHERE dep_delay >= 600;
