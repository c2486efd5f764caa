// Makes calls one after the other, each at a time in milliseconds, in this process. Prints their outcomes: the answer, or
// the name of the error. Arguments: the folder of the data, and the calls as [time, action, parameters] in JSON.
const { promisify } = require('node:util')
const db = require('dynalite/db')
const validations = require('dynalite/validations')
const { clock } = require('../../../../localstage/services/node/throughput.cjs')

const [folder, calls] = process.argv.slice(2)
const store = db.create({ path: folder, createTableMs: 0 })

async function call(name, given) {
  const { types, custom } = require(`dynalite/validations/${name}`)
  const data = validations.checkTypes(given, types)
  validations.checkValidations(data, types, custom, store)
  return promisify(require(`dynalite/actions/${name}`))(store, data)
}

async function main() {
  const outcomes = []
  for (const [at, name, parameters] of JSON.parse(calls)) {
    clock.now = () => at
    try {
      outcomes.push(await call(name, parameters))
      while (name === 'createTable' && (await call('describeTable', { TableName: parameters.TableName })).Table.TableStatus !== 'ACTIVE');
    } catch (error) {
      outcomes.push(error.body ? error.body.__type.split('#')[1] : String(error))
    }
  }
  console.log(JSON.stringify(outcomes))
  process.exit(0)
}

main()
