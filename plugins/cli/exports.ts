export { checkFilesystem, unsuitableKind } from './filesystem.ts'
