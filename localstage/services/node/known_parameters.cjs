// Loaded before dynalite, which drops parameters of a call that it does not know. Here a wrong name is refused, and so is
// what dynalite would silently not do. It reads consistently, whether it is asked to or not.
const validations = require('dynalite/validations')

const { checkTypes } = validations
validations.checkTypes = (data, types) => {
  const isKnown = (name) => name in types || name === 'ConsistentRead'
  const unknown = types.ReturnConsumedCapacity ? Object.keys(data).filter((name) => !isKnown(name)) : []
  if (!unknown.length) return checkTypes(data, types)
  const message = `Unknown parameters: ${unknown.join(', ')}`
  const body = { __type: 'com.amazon.coral.validate#ValidationException', message }
  throw Object.assign(new Error(message), { statusCode: 400, body })
}
