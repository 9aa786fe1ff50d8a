export { originIn } from './api.ts'
export { checkFilesystem, unsuitableKind } from './filesystem.ts'
export { logIn } from './login.ts'
export { quote } from './quote.ts'
