// Loaded before dynalite: counts the read and write units of each table and its indexes, and answers them to
// GET /consumed-capacity as {"table": {"read": 1.5, "write": 3, "throttled": 0}}. On AWS, CloudWatch has these numbers.
// What `throughput.cjs` refuses is throttled, and consumes nothing. The rules:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations
const http = require('node:http')
const db = require('dynalite/db')
const rowTexts = require('./row_texts.cjs')
const throughput = require('./throughput.cjs')

const KILOBYTE = 1024
const consumed = {}

function count(table, kind, units) {
  consumed[table] ??= { read: 0, write: 0, throttled: 0 }
  consumed[table][kind] += units
}

// Counts the units of pairs of a partition and its units; returns the refusal if they are throttled.
function consume(kind, table, partitions) {
  const refusal = throughput.take(kind, table, partitions)
  count(table, refusal ? 'throttled' : kind, partitions.reduce((sum, [, units]) => sum + units, 0))
  return refusal
}

// dynalite computes the units of a read when it is asked for them, from characters where DynamoDB counts bytes. A read
// that finds nothing costs as much as that of one small row.
for (const name of ['getItem', 'query', 'scan']) {
  const path = require.resolve(`dynalite/actions/${name}`)
  const action = require(path)
  require.cache[path].exports = (store, data, callback) => {
    const isAsked = ['TOTAL', 'INDEXES'].includes(data.ReturnConsumedCapacity)
    action(store, isAsked ? data : { ...data, ReturnConsumedCapacity: 'TOTAL' }, (error, answer) => {
      if (error) return callback(error)
      const { CapacityUnits: units } = answer.ConsumedCapacity
      if (!isAsked) delete answer.ConsumedCapacity
      consumeRead(store, data, Math.max(units, data.ConsistentRead ? 1 : 0.5), (refusal) => {
        const batch = throughput.batches.get(data.Key)
        if (!refusal || !batch) return callback(refusal, answer)
        batch.set(data.Key, refusal)
        callback(null, {})
      })
    })
  }
}

// Counts the units of a read, and calls back with the refusal if it is throttled.
function consumeRead(store, data, units, callback) {
  const { TableName, IndexName, Key, KeyConditions } = data
  if (!throughput.isLimited) return callback(consume('read', TableName, [['', units]]))
  store.getTable(TableName, (error, table) => {
    if (error) return callback(error)
    const index = table.GlobalSecondaryIndexes?.find((one) => one.IndexName === IndexName)
    const [{ AttributeName: name }] = (index ?? table).KeySchema
    const value = Key?.[name] ?? KeyConditions?.[name].AttributeValueList[0] // a scan has none
    callback(consume('read', TableName, [[value && `${TableName} ${IndexName} ${JSON.stringify(value)}`, units]]))
  })
}

// What each action that writes one row calls, with the row before and after it.
const { updateIndexes, checkConditional } = db

db.updateIndexes = (store, table, existing, item, callback) => {
  const key = item || existing ? db.createKey(item ?? existing, table) : ''
  const refusal = consumeWrite(table, key, rowTexts(table, existing), rowTexts(table, item))
  if (refusal) return callback(refusal)
  updateIndexes(store, table, existing, item, callback)
}

db.checkConditional = (data, existing) => {
  const refusal = checkConditional(data, existing)
  if (refusal) {
    const [before, after] = [JSON.stringify(existing), JSON.stringify(data.Item)] // an UpdateItem has no whole row
    count(data.TableName, 'write', Math.max(writeUnits(before), writeUnits(after)))
  }
  return refusal
}

// A row costs the larger of what it was and is. An index entry that is the same as before costs nothing, and one with
// another key costs twice, because the old one is deleted. Returns the refusal if the write is throttled, which one full
// partition of an index is enough for.
function consumeWrite(table, key, before, after) {
  const place = key && `${table.TableName} ${key}` // the delete of a row that is not there has no key
  const units = [[partition(place), Math.max(writeUnits(before.text), writeUnits(after.text))]]
  for (const [key, text] of after.entries) {
    const old = before.entries.get(key)
    if (old !== text) units.push([partition(key), Math.max(writeUnits(old), writeUnits(text))])
  }
  for (const [key, old] of before.entries) if (!after.entries.has(key)) units.push([partition(key), writeUnits(old)])
  return consume('write', table.TableName, units)
}

// A key of dynalite begins with a hash and the value of the partition key, each with a slash behind it.
const partition = (key) => (throughput.isLimited ? key.split('/', 2).join('/') : key)

// A row has fewer bytes than its text. For dynalite's function, which counts characters, each byte becomes one.
function writeUnits(text) {
  if (!text || Buffer.byteLength(text) <= KILOBYTE) return 1
  return Math.ceil(db.itemSize(JSON.parse(Buffer.from(text).toString('latin1'))) / KILOBYTE)
}

const { createServer } = http
http.createServer = (handler) =>
  createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/consumed-capacity') return handler(request, response)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(consumed))
  })

module.exports = consumeWrite
