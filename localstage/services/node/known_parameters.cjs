// Loaded before dynalite, which drops parameters of a call that it does not know. Here a wrong name is refused, and so is
// what dynalite would silently not do.
const validations = require('dynalite/validations')

const { checkTypes } = validations
validations.checkTypes = (data, types) => {
  const unknown = types.ReturnConsumedCapacity ? Object.keys(data).filter((name) => !(name in types)) : []
  if (!unknown.length) return checkTypes(data, types)
  const message = `Unknown parameters: ${unknown.join(', ')}`
  const body = { __type: 'com.amazon.coral.validate#ValidationException', message }
  throw Object.assign(new Error(message), { statusCode: 400, body })
}
