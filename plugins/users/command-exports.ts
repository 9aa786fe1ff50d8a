// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.
export { UserArg, userIds } from './user-argument.ts'
