import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Applies one transform or predicate of Kafka Connect to records, all as JSON (tests/records/smt/kafka/encoding.py). */
public class Driver {
    private final ObjectMapper mapper = new ObjectMapper();
    private final JsonNodeFactory nodes = JsonNodeFactory.instance;
    private final Map schemas = new HashMap();

    public String run(String text) throws Exception {
        JsonNode given = mapper.readTree(text);
        schemas.clear();
        ObjectNode done = nodes.objectNode();
        Map options = new HashMap();
        Iterator names = at(given, "options").fieldNames();
        while (names.hasNext()) {
            String name = (String) names.next();
            options.put(name, at(at(given, "options"), name).asText());
        }
        Object made;
        try {
            made = Class.forName(at(given, "class").asText()).newInstance();
            ((Configurable) made).configure(options);
        } catch (Throwable error) {
            done.put("refused", String.valueOf(error));
            return mapper.writeValueAsString(done);
        }
        ArrayNode results = done.putArray("results");
        for (int i = 0; i < at(given, "records").size(); i++) {
            results.add(one(made, record(at(at(given, "records"), i))));
        }
        return mapper.writeValueAsString(done);
    }

    public String literal(String text) throws Exception {
        SchemaAndValue found = Values.parseString(text);
        return mapper.writeValueAsString(found == null ? both(null, null) : both(found.schema(), found.value()));
    }

    private JsonNode one(Object made, SinkRecord record) {
        ObjectNode done = nodes.objectNode();
        try {
            if (made instanceof Predicate) {
                done.put("test", ((Predicate) made).test(record));
            } else {
                Object after = ((Transformation) made).apply(record);
                if (after == null) {
                    done.put("dropped", true);
                } else {
                    done.set("record", written((SinkRecord) after));
                }
            }
        } catch (Throwable error) {
            done.put("error", String.valueOf(error));
        }
        return done;
    }

    private JsonNode at(JsonNode node, String name) {
        return (JsonNode) node.get(name);
    }

    private JsonNode at(JsonNode node, int index) {
        return (JsonNode) node.get(index);
    }

    private SinkRecord record(JsonNode node) {
        ConnectHeaders headers = new ConnectHeaders();
        for (int i = 0; i < at(node, "headers").size(); i++) {
            JsonNode each = at(at(node, "headers"), i);
            Schema schema = schema(at(at(each, "content"), "schema"));
            headers.add(at(each, "name").asText(), value(at(at(each, "content"), "value")), schema);
        }
        JsonNode time = at(node, "timestamp");
        return new SinkRecord(
            at(node, "topic").asText(),
            at(node, "partition").asInt(),
            schema(at(at(node, "key"), "schema")),
            value(at(at(node, "key"), "value")),
            schema(at(at(node, "value"), "schema")),
            value(at(at(node, "value"), "value")),
            at(node, "offset").asLong(),
            time.isNull() ? null : Long.valueOf(time.asText()),
            TimestampType.CREATE_TIME,
            headers
        );
    }

    /** One schema is one object: those with a struct's default are equal to themselves alone. */
    private Schema schema(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        if (!schemas.containsKey(node)) {
            schemas.put(node, built(node));
        }
        return (Schema) schemas.get(node);
    }

    private Schema built(JsonNode node) {
        SchemaBuilder builder;
        String type = at(node, "type").asText();
        if (type.equals("array")) {
            builder = SchemaBuilder.array(schema(at(node, "value")));
        } else if (type.equals("map")) {
            builder = SchemaBuilder.map(schema(at(node, "key")), schema(at(node, "value")));
        } else {
            builder = SchemaBuilder.type(Schema.Type.valueOf(type.toUpperCase()));
        }
        for (int i = 0; i < at(node, "fields").size(); i++) {
            builder.field(at(at(at(node, "fields"), i), "name").asText(), schema(at(at(at(node, "fields"), i), "schema")));
        }
        if (!at(node, "name").isNull()) {
            builder.name(at(node, "name").asText());
        }
        if (!at(node, "version").isNull()) {
            builder.version(Integer.valueOf(at(node, "version").asInt()));
        }
        if (!at(node, "doc").isNull()) {
            builder.doc(at(node, "doc").asText());
        }
        Iterator names = at(node, "parameters").fieldNames();
        while (names.hasNext()) {
            String name = (String) names.next();
            builder.parameter(name, at(at(node, "parameters"), name).asText());
        }
        if (at(node, "optional").asBoolean()) {
            builder.optional();
        }
        if (!at(node, "default").isNull()) {
            // The default of a struct is one of the builder, or Connect does not take it.
            builder.defaultValue(value(at(node, "default"), builder));
        }
        return builder.build();
    }

    private Object value(JsonNode node) {
        return value(node, null);
    }

    private Object value(JsonNode node, Schema ofStruct) {
        if (node == null || node.isNull()) {
            return null;
        }
        String kind = at(node, 0).asText();
        JsonNode content = at(node, 1);
        String text = content.asText();
        if (kind.equals("int8")) {
            return Byte.valueOf(text);
        } else if (kind.equals("int16")) {
            return Short.valueOf(text);
        } else if (kind.equals("int32")) {
            return Integer.valueOf(text);
        } else if (kind.equals("int64")) {
            return Long.valueOf(text);
        } else if (kind.equals("float32")) {
            return Float.valueOf((float) Double.longBitsToDouble(Long.parseUnsignedLong(text, 16)));
        } else if (kind.equals("float64")) {
            return Double.valueOf(Double.longBitsToDouble(Long.parseUnsignedLong(text, 16)));
        } else if (kind.equals("boolean")) {
            return Boolean.valueOf(text);
        } else if (kind.equals("string")) {
            return text;
        } else if (kind.equals("bytes")) {
            return Base64.getDecoder().decode(text);
        } else if (kind.equals("decimal")) {
            return new BigDecimal(new BigInteger(text), at(node, 2).asInt());
        } else if (kind.equals("date")) {
            return new java.util.Date(Long.parseLong(text));
        } else if (kind.equals("array")) {
            List list = new ArrayList();
            for (int i = 0; i < content.size(); i++) {
                list.add(value(at(content, i)));
            }
            return list;
        } else if (kind.equals("map")) {
            Map map = new LinkedHashMap();
            for (int i = 0; i < content.size(); i++) {
                map.put(value(at(at(content, i), 0)), value(at(at(content, i), 1)));
            }
            return map;
        } else if (kind.equals("struct")) {
            Struct struct = new Struct(ofStruct == null ? schema(content) : ofStruct);
            for (int i = 0; i < at(node, 2).size(); i++) {
                JsonNode field = at(at(node, 2), i);
                if (!at(field, 1).isNull()) {
                    struct.put(at(field, 0).asText(), value(at(field, 1)));
                }
            }
            return struct;
        }
        throw new IllegalArgumentException(kind);
    }

    private JsonNode written(SinkRecord record) {
        ObjectNode node = nodes.objectNode();
        node.put("topic", record.topic());
        node.put("partition", record.kafkaPartition());
        node.put("offset", record.kafkaOffset());
        node.put("timestamp", record.timestamp());
        node.set("key", both(record.keySchema(), record.key()));
        node.set("value", both(record.valueSchema(), record.value()));
        ArrayNode headers = node.putArray("headers");
        Iterator each = record.headers().iterator();
        while (each.hasNext()) {
            Header header = (Header) each.next();
            ObjectNode one = headers.addObject();
            one.put("name", header.key());
            one.set("content", both(header.schema(), header.value()));
        }
        return node;
    }

    private JsonNode both(Schema schema, Object value) {
        ObjectNode node = nodes.objectNode();
        node.set("schema", written(schema));
        node.set("value", content(value));
        return node;
    }

    private JsonNode written(Schema schema) {
        if (schema == null) {
            return nodes.nullNode();
        }
        ObjectNode node = nodes.objectNode();
        node.put("type", schema.type().name().toLowerCase());
        node.put("optional", schema.isOptional());
        node.set("default", content(schema.defaultValue(), true));
        node.put("name", schema.name());
        node.put("version", schema.version());
        node.put("doc", schema.doc());
        ObjectNode parameters = node.putObject("parameters");
        if (schema.parameters() != null) {
            Iterator names = schema.parameters().keySet().iterator();
            while (names.hasNext()) {
                String name = (String) names.next();
                parameters.put(name, (String) schema.parameters().get(name));
            }
        }
        ArrayNode fields = node.putArray("fields");
        if (schema.type() == Schema.Type.STRUCT) {
            for (int i = 0; i < schema.fields().size(); i++) {
                Field field = (Field) schema.fields().get(i);
                ObjectNode one = fields.addObject();
                one.put("name", field.name());
                one.set("schema", written(field.schema()));
            }
        }
        boolean isMap = schema.type() == Schema.Type.MAP;
        node.set("key", isMap ? written(schema.keySchema()) : nodes.nullNode());
        node.set("value", isMap || schema.type() == Schema.Type.ARRAY ? written(schema.valueSchema()) : nodes.nullNode());
        return node;
    }

    private JsonNode content(Object value) {
        return content(value, false);
    }

    private JsonNode content(Object value, boolean isDefault) {
        if (value == null) {
            return nodes.nullNode();
        }
        ArrayNode node = nodes.arrayNode();
        if (value instanceof Byte) {
            node.add("int8").add(value.toString());
        } else if (value instanceof Short) {
            node.add("int16").add(value.toString());
        } else if (value instanceof Integer) {
            node.add("int32").add(value.toString());
        } else if (value instanceof Long) {
            node.add("int64").add(value.toString());
        } else if (value instanceof Float || value instanceof Double) {
            node.add(value instanceof Float ? "float32" : "float64");
            node.add(Long.toHexString(Double.doubleToLongBits(((Number) value).doubleValue())));
        } else if (value instanceof Boolean) {
            node.add("boolean").add(value.toString());
        } else if (value instanceof String) {
            node.add("string").add((String) value);
        } else if (value instanceof byte[]) {
            node.add("bytes").add(Base64.getEncoder().encodeToString((byte[]) value));
        } else if (value instanceof ByteBuffer) {
            node.add("bytes").add(Base64.getEncoder().encodeToString(((ByteBuffer) value).array()));
        } else if (value instanceof BigDecimal) {
            BigDecimal number = (BigDecimal) value;
            node.add("decimal").add(number.unscaledValue().toString()).add(number.scale());
        } else if (value instanceof BigInteger) {
            node.add("integer").add(value.toString());
        } else if (value instanceof java.util.Date) {
            node.add("date").add(Long.toString(((java.util.Date) value).getTime()));
        } else if (value instanceof List) {
            node.add("array");
            ArrayNode elements = node.addArray();
            Iterator each = ((List) value).iterator();
            while (each.hasNext()) {
                elements.add(content(each.next()));
            }
        } else if (value instanceof Map) {
            node.add("map");
            ArrayNode entries = node.addArray();
            Iterator each = ((Map) value).entrySet().iterator();
            while (each.hasNext()) {
                Map.Entry entry = (Map.Entry) each.next();
                entries.addArray().add(content(entry.getKey())).add(content(entry.getValue()));
            }
        } else if (value instanceof Struct) {
            Struct struct = (Struct) value;
            node.add("struct").add(isDefault ? nodes.nullNode() : written(struct.schema()));
            ArrayNode fields = node.addArray();
            for (int i = 0; i < struct.schema().fields().size(); i++) {
                Field field = (Field) struct.schema().fields().get(i);
                fields.addArray().add(field.name()).add(content(struct.getWithoutDefault(field.name())));
            }
        } else {
            throw new IllegalArgumentException(value.getClass().getName());
        }
        return node;
    }
}
