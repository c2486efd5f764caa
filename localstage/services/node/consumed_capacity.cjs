// Loaded before dynalite: counts the read and write units of each table and its indexes, and answers them to
// GET /consumed-capacity as {"table": {"read": 1.5, "write": 3}}. On AWS, CloudWatch has these numbers. The rules:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations
const http = require('node:http')
const db = require('dynalite/db')
const rowTexts = require('./row_texts.cjs')

const KILOBYTE = 1024
const consumed = {}

function count(table, kind, units) {
  consumed[table] ??= { read: 0, write: 0 }
  consumed[table][kind] += units
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
      count(data.TableName, 'read', Math.max(units, data.ConsistentRead ? 1 : 0.5))
      if (!isAsked) delete answer.ConsumedCapacity
      callback(null, answer)
    })
  }
}

// What each action that writes one row calls, with the row before and after it.
const { updateIndexes, checkConditional } = db

db.updateIndexes = (store, table, existing, item, callback) => {
  countWrite(table, rowTexts(table, existing), rowTexts(table, item))
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
// another key costs twice, because the old one is deleted.
function countWrite(table, before, after) {
  let units = Math.max(writeUnits(before.text), writeUnits(after.text))
  for (const [key, text] of after.entries) {
    const old = before.entries.get(key)
    if (old !== text) units += Math.max(writeUnits(old), writeUnits(text))
  }
  for (const [key, old] of before.entries) if (!after.entries.has(key)) units += writeUnits(old)
  count(table.TableName, 'write', units)
}

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

module.exports = countWrite
