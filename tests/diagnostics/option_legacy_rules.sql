-- expect: error[E0305] 8:109 connector.topic and connector.topic-pattern exclude each other
-- expect: error[E0301] 8:188 did you mean connector.startup-mode?
-- expect: error[E0304] 9:78 0.8, 0.9, 0.10, 0.11, universal, not '2.0'
-- expect: error[E0305] 9:85 connector.topic or connector.topic-pattern is needed
-- expect: error[E0301] 9:177 option names are case-sensitive: connector.startup-mode
-- expect: error[E0305] 10:207 partition:0,offset:42;partition:1,offset:300
-- expect: error[E0302] 11:29 needs the option connector.properties.bootstrap.servers
CREATE TABLE e(k STRING) WITH ('connector.type'='kafka', 'connector.version'='0.11', 'connector.topic'='t', 'connector.topic-pattern'='p', 'connector.properties.bootstrap.servers'='h:1', 'startup-mode'='latest-offset', 'format.type'='json');
CREATE TABLE f(k STRING) WITH ('connector.type'='kafka', 'connector.version'='2.0', 'connector.topic'='', 'connector.properties.bootstrap.servers'='h:1', 'format.type'='json', 'Connector.Startup-Mode'='x');
CREATE TABLE g(k STRING) WITH ('connector.type'='kafka', 'connector.version'='universal', 'connector.topic'='t', 'connector.properties.bootstrap.servers'='h:1', 'connector.startup-mode'='specific-offsets', 'connector.specific-offsets'='partition:0,offset:42;partition:1', 'format.type'='json');
CREATE TABLE h(k STRING)    WITH ('connector.type'='kafka', 'connector.version'='0.11', 'connector.topic'='t', 'connector.properties.0.key'='group.id', 'connector.properties.0.value'='g', 'format.type'='json');
