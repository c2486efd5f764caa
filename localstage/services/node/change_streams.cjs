// Loaded before dynalite, and after grouped_writes: gives tables DynamoDB Streams, which dynalite lacks. What a write
// changes in a table with a StreamSpecification is kept for a day, and written in the same batch as the row. A stream has
// one shard, and images of the row before and after a change. A write that changes nothing is not in it.
const http = require('node:http')
const { isDeepStrictEqual } = require('node:util')
const { ClassicLevel } = require('classic-level')
const db = require('dynalite/db')

const DAY = 24 * 60 * 60 * 1000
const MOST_RECORDS = 1000
const MOST_BYTES = 1024 * 1024
const SHARD = 'shardId-00000000000000000000-00000000'
const TEXT = { valueEncoding: 'utf8' }
const streamed = new Map() // by table: whether it has a stream; forgotten when the description of the table is written

// The stream's place in the database; dynalite's own places are `table~NAME` and `item-NAME~KEY`.
const streamOf = (name) => `stream-${name}~`

const { batch } = ClassicLevel.prototype
for (const [method, operation] of [
  ['put', (key, value) => [{ type: 'put', key, value }]],
  ['del', (key) => [{ type: 'del', key }]],
  ['batch', (operations) => operations],
]) {
  const write = ClassicLevel.prototype[method]
  ClassicLevel.prototype[method] = function (...given) {
    const operations = operation(...given)
    const changes = [...changesOf(this, operations)]
    const done = changes.length ? batch.call(this, [...operations, ...changes]) : write.apply(this, given)
    const gone = operations.filter(({ type, key }) => type === 'del' && key.startsWith('table~'))
    return gone.length ? done.then(() => Promise.all(gone.map(({ key }) => forget(this, nameOf(key))))) : done
  }
}

const nameOf = (key) => key.slice('table~'.length)
const forget = (database, name) => database.clear({ gt: streamOf(name), lt: `${streamOf(name)}~` })

function* changesOf(database, operations) {
  for (const { type, key, value } of operations) {
    if (key.startsWith('table~')) streamed.delete(nameOf(key))
    const name = key.startsWith('item-') && key.slice('item-'.length, key.indexOf('~'))
    if (!name || !hasStream(database, name)) continue
    const before = database.getSync(key, TEXT)
    const after = type === 'put' ? asText(value) : undefined
    if (before !== after && !(before && after && isDeepStrictEqual(JSON.parse(before), JSON.parse(after)))) {
      const change = `{"at":${Date.now()},"before":${before ?? null},"after":${after ?? null}}`
      yield { type: 'put', key: streamOf(name) + nextNumber(), value: change, ...TEXT }
    }
  }
}

const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value))

function hasStream(database, name) {
  if (!streamed.has(name)) {
    const table = JSON.parse(database.getSync(`table~${name}`, TEXT) ?? '{}')
    streamed.set(name, table.TableStatus !== 'DELETING' && Boolean(table.StreamSpecification?.StreamEnabled))
  }
  return streamed.get(name)
}

let last = 0n
function nextNumber() {
  const now = BigInt(Date.now()) * 100_000_000n
  last = now > last ? now : last + 1n
  return `${last}`.padStart(21, '0')
}

// CreateTable and UpdateTable with a StreamSpecification, of which dynalite knows nothing.
const specification = {
  type: 'FieldStruct<StreamSpecification>',
  children: { StreamEnabled: 'Boolean', StreamViewType: 'String' },
}
for (const name of ['createTable', 'updateTable']) {
  const rules = require(`dynalite/validations/${name}`)
  rules.types.StreamSpecification = specification
  const { custom } = rules
  rules.custom = (data, ...more) => (name === 'updateTable' && data.StreamSpecification ? undefined : custom(data, ...more))
  const path = require.resolve(`dynalite/actions/${name}`)
  const action = require(path)
  require.cache[path].exports = (store, data, callback) => {
    const given = data.StreamSpecification
    if (!given) return action(store, data, callback)
    if (name === 'createTable') return action(store, given.StreamEnabled ? described(store, data, given) : data, callback)
    store.tableDb.lock(data.TableName, (release) => {
      const done = release(callback)
      store.getTable(data.TableName, false, (error, table) => {
        if (error) return done(error)
        if (Boolean(table.StreamSpecification) === given.StreamEnabled) {
          return done(db.validationError(`Table is already ${given.StreamEnabled ? 'enabled' : 'disabled'} for streams`))
        }
        described(store, table, given)
        const answered = (failure) => done(failure, { TableDescription: table })
        store.tableDb.put(data.TableName, table, (failure) =>
          failure ? answered(failure) : forget(store.db, data.TableName).then(() => answered(), answered),
        )
      })
    })
  }
}

function described(store, table, given) {
  delete table.StreamSpecification
  delete table.LatestStreamLabel
  delete table.LatestStreamArn
  if (given.StreamEnabled) {
    const { awsRegion, awsAccountId } = store.tableDb
    table.StreamSpecification = given
    table.LatestStreamLabel = new Date().toISOString().slice(0, -1)
    const arn = `arn:aws:dynamodb:${awsRegion}:${awsAccountId}:table/${table.TableName}`
    table.LatestStreamArn = `${arn}/stream/${table.LatestStreamLabel}`
  }
  return table
}

// The calls of DynamoDB Streams.
let store
const { create } = db
db.create = (options) => (store = create(options))

const nameIn = (arn) => /:table\/([^/]+)\/stream\//.exec(arn)?.[1]

function tableOf(name) {
  const table = JSON.parse((name && store.db.getSync(`table~${name}`, TEXT)) || 'null')
  if (table?.LatestStreamArn) return table
  throw refusal('com.amazonaws.dynamodb.v20120810#ResourceNotFoundException', `Stream of ${name} not found`)
}

const refusal = (type, message) => Object.assign(new Error(message), { body: { __type: type, message } })

const calls = {
  DescribeStream({ StreamArn }) {
    const { LatestStreamArn, LatestStreamLabel, StreamSpecification, TableName, KeySchema } = tableOf(nameIn(StreamArn))
    const Shards = [{ ShardId: SHARD, SequenceNumberRange: { StartingSequenceNumber: ''.padStart(21, '0') } }]
    const { StreamViewType } = StreamSpecification
    const described = { StreamStatus: 'ENABLED', StreamViewType, TableName, KeySchema, Shards }
    return { StreamDescription: { StreamArn: LatestStreamArn, StreamLabel: LatestStreamLabel, ...described } }
  },

  async GetShardIterator({ StreamArn, ShardIteratorType: type, SequenceNumber: number }) {
    const name = tableOf(nameIn(StreamArn)).TableName
    if (type === 'TRIM_HORIZON') return { ShardIterator: `${name} ` }
    if (type === 'AFTER_SEQUENCE_NUMBER') return { ShardIterator: `${name} ${number}` }
    if (type === 'AT_SEQUENCE_NUMBER') return { ShardIterator: `${name} ${`${BigInt(number) - 1n}`.padStart(21, '0')}` }
    const newest = await store.db.keys({ gt: streamOf(name), lt: `${streamOf(name)}~`, reverse: true, limit: 1 }).all()
    return { ShardIterator: `${name} ${newest[0]?.slice(streamOf(name).length) ?? ''}` }
  },

  async GetRecords({ ShardIterator, Limit: limit = MOST_RECORDS }) {
    const [name, after] = ShardIterator.split(' ')
    const [table, place] = [tableOf(name), streamOf(name)]
    await forgetOld(place)
    const range = { gt: place + after, lt: `${place}~`, limit: Math.min(limit, MOST_RECORDS), ...TEXT }
    const Records = []
    let [bytes, number] = [0, after]
    for await (const [key, text] of store.db.iterator(range)) {
      if (Records.length && bytes + text.length > MOST_BYTES) break
      bytes += text.length
      number = key.slice(place.length)
      Records.push(record(table, number, JSON.parse(text), text.length))
    }
    return { Records, NextShardIterator: `${name} ${number}` }
  },
}

function record(table, SequenceNumber, { at, before, after }, SizeBytes) {
  const Keys = Object.fromEntries(table.KeySchema.map(({ AttributeName: name }) => [name, (after ?? before)[name]]))
  const images = { ...(after && { NewImage: after }), ...(before && { OldImage: before }) }
  const { StreamViewType } = table.StreamSpecification
  const change = { ApproximateCreationDateTime: Math.floor(at / 1000), Keys, ...images, SequenceNumber, SizeBytes }
  return {
    eventID: SequenceNumber.padStart(32, '0'),
    eventName: before ? (after ? 'MODIFY' : 'REMOVE') : 'INSERT',
    eventVersion: '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion: store.tableDb.awsRegion,
    dynamodb: { ...change, StreamViewType },
  }
}

const forgotten = new Map() // by stream: when its old changes were deleted
async function forgetOld(place) {
  const now = Date.now()
  if (now - (forgotten.get(place) ?? 0) < 60_000) return
  forgotten.set(place, now)
  await store.db.clear({ gt: place, lt: `${place}${`${BigInt(now - DAY) * 100_000_000n}`.padStart(21, '0')}` })
}

const TARGET = /^DynamoDBStreams_20120810\.(\w+)$/
const { createServer } = http
http.createServer = (handler) =>
  createServer(async (request, response) => {
    const name = TARGET.exec(request.headers['x-amz-target'] ?? '')?.[1]
    if (!name) return handler(request, response)
    const answer = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'local' })
      response.end(JSON.stringify(body))
    }
    try {
      const chunks = []
      for await (const chunk of request) chunks.push(chunk)
      const call = calls[name]
      if (!call) throw refusal('com.amazon.coral.service#UnknownOperationException', name)
      answer(200, await call(JSON.parse(Buffer.concat(chunks).toString())))
    } catch (error) {
      answer(error.body ? 400 : 500, error.body ?? { __type: 'InternalServerError', message: error.message })
    }
  })
