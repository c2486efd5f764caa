// Used by what counts units: DynamoDB's limits of throughput, if HEADRACE_WRITES_PER_KEY says how many write units a
// second one partition key takes. On AWS, it is 1,000. The others keep AWS's ratio to it: three times as many read units
// for a key, and forty times as many of each for a table with its indexes.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
// What is not used is kept for one second. AWS keeps it for up to 300 s, and promises that for no key.
const WRITES = Number(process.env.HEADRACE_WRITES_PER_KEY ?? 0)
const PER_KEY = { write: WRITES, read: 3 * WRITES }
const PER_TABLE = 40 * WRITES
const MOST_BUCKETS = 50_000
const isLimited = WRITES > 0

const clock = { now: Date.now }
const buckets = new Map() // by what is limited: its limit, and the units that were left at a time

// Takes these units of a table and of its partitions; `partitions` are pairs of a key and its units. Returns a refusal
// if one of them has none left, and then takes nothing. The last one may go below zero, as a large row needs.
function take(kind, table, partitions) {
  if (!isLimited) return undefined
  const now = clock.now()
  const wanted = new Map()
  const want = (name, limit, units) => wanted.set(name, { limit, units: units + (wanted.get(name)?.units ?? 0) })
  for (const [key, units] of partitions) {
    if (key) want(`${kind} ${key}`, PER_KEY[kind], units)
    want(`${kind} ${table}`, PER_TABLE, units)
  }
  for (const [name, { limit }] of wanted) if (left(name, limit, now) <= 0) return refusal(name, limit)
  for (const [name, { limit, units }] of wanted) buckets.set(name, { limit, units: left(name, limit, now) - units, at: now })
  if (buckets.size > MOST_BUCKETS) {
    for (const [name, { limit }] of buckets) if (left(name, limit, now) >= limit) buckets.delete(name)
  }
  return undefined
}

function left(name, limit, now) {
  const { units, at } = buckets.get(name) ?? { units: limit, at: now }
  return Math.min(limit, units + (limit * (now - at)) / 1000)
}

const KEY = 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException'
const TABLE = 'com.amazon.coral.availability#ThrottlingException'

function refusal(name, limit) {
  const [type, what] = limit === PER_TABLE ? [TABLE, 'table'] : [KEY, 'partition key']
  const message = `Throughput exceeds ${limit} units a second of the ${what}: ${name}`
  return Object.assign(new Error(message), { statusCode: 400, body: { __type: type, message }, isThrottled: true })
}

const batches = new WeakMap() // by the key of a BatchGetItem: the refusals of its keys

module.exports = { take, clock, isLimited, batches }
