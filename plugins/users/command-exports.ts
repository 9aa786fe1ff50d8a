// Exports for commands of other plugins. They load no server code.
export { UserArg, userIds } from './user-argument.ts'
