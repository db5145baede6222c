-- What pages count and compare, without reading the rows themselves.

-- How often each rule decided, and when it last did.
CREATE INDEX activity_rule ON activity (rule_id, type, at) WHERE rule_id IS NOT NULL;

-- Everything that is counted of calls stands in the index that finds them: the rows have long bodies.
DROP INDEX activity_type;
CREATE INDEX activity_type ON activity (type, at, status, safety_class, server, verdict);

-- The last approved call of a tool.
CREATE INDEX approval_tool ON approval (body ->> '$.key.server', body ->> '$.key.tool', decided_at)
WHERE status = 'approved';
