// Loaded before dynalite, which looks up the table, the key and the old row of each row of a BatchWriteItem alone, and
// encodes a row again for each index. Here, the rows of a call are locked, looked up and written together. Throttled ones
// are its UnprocessedItems. What is not a valid call that puts rows into one table goes to dynalite's own function, which
// answers errors; of such a call, a throttled row is one.
const db = require('dynalite/db')
const validations = require('dynalite/validations')
const { types } = require('dynalite/validations/batchWriteItem')
const consumeWrite = require('./consumed_capacity.cjs')
const rowTexts = require('./row_texts.cjs')
const path = require.resolve('dynalite/actions/batchWriteItem')
const oneByOne = require(path)

require.cache[path].exports = function batchWriteItem(store, data, callback) {
  const [[name, requests], ...others] = Object.entries(data.RequestItems)
  const items = requests.flatMap(({ PutRequest }) => (PutRequest ? [PutRequest.Item] : []))
  const isOther = others.length || items.length < requests.length || data.ReturnConsumedCapacity
  if (isOther) return oneByOne(store, data, callback)
  store.getTable(name, (error, table) => {
    if (error || items.some((item) => db.validateItem(item, table))) return oneByOne(store, data, callback)
    const keys = items.map((item) => db.createKey(item, table))
    if (new Set(keys).size < keys.length) return oneByOne(store, data, callback)
    putTogether(store, table, items, false, (failure, refusals) => {
      if (failure) return callback(failure)
      if (refusals.size === items.length) return callback(refusals.get(items[0]))
      const left = requests.filter(({ PutRequest }) => refusals.has(PutRequest.Item))
      callback(null, { UnprocessedItems: left.length ? { [name]: left } : {} })
    })
  })
}

// Puts rows with different keys; calls back with the refusals, by row. With `isInsert`, no row that is there is replaced.
function putTogether(store, table, items, isInsert, callback) {
  const keys = items.map((item) => db.createKey(item, table))
  store.getItemDb(table.TableName).lock(keys, (release) => {
    const done = release(callback)
    try {
      const refusals = new Map()
      const operations = items.flatMap((item, at) => {
        const changes = changesOf(store, table, keys[at], item)
        const isThere = isInsert && changes.before.text !== undefined
        const throttled = consumeWrite(table, keys[at], changes.before, isThere ? changes.before : changes.after)
        const refusal = throttled ?? (isThere ? DUPLICATE : undefined)
        if (refusal) refusals.set(item, refusal)
        return refusal ? [] : [...written(changes)]
      })
      store.db.batch(operations, (failure) => (failure ? done(failure) : done(null, refusals)))
    } catch (failure) {
      done(failure)
    }
  })
}

const DUPLICATE = { body: { __type: '#DuplicateItemException', message: 'Duplicate primary key exists in table' } }

// What a row and its index entries were and become. The prefix of the row's key is that of dynalite's getItemDb.
function changesOf(store, table, key, item) {
  const place = `item-${table.TableName}~${key}`
  return { place, before: rowTexts(table, store.db.getSync(place)), after: rowTexts(table, item) }
}

function* written({ place, before, after }) {
  const put = (key, value) => ({ type: 'put', key, value, valueEncoding: 'utf8' })
  for (const entry of before.entries.keys()) if (!after.entries.has(entry)) yield { type: 'del', key: entry }
  for (const [entry, text] of after.entries) yield put(entry, text)
  yield put(place, after.text)
}

// dynalite copies a request to convert its values. A row of texts and numbers needs no conversion.
const { checkTypes } = validations
validations.checkTypes = (data, expected) =>
  expected === types && hasOnly(data, ['RequestItems'], isTables) ? data : checkTypes(data, expected)

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

function hasOnly(value, names, fits) {
  if (!isObject(value)) return false
  const found = Object.keys(value)
  return found.length === 1 && names.includes(found[0]) && fits(value[found[0]])
}

const isTables = (tables) =>
  isObject(tables) && Object.values(tables).every((rows) => Array.isArray(rows) && rows.every(isPut))
const isPut = (request) => hasOnly(request, ['PutRequest'], (put) => hasOnly(put, ['Item'], isRow))
const isRow = (row) => isObject(row) && Object.values(row).every((value) => hasOnly(value, ['S', 'N'], isText))
const isText = (value) => typeof value === 'string'

module.exports = Object.assign(putTogether, { DUPLICATE })
