// Exports for commands of other plugins. They load no server code.
export { ClientArg, clientNames, findClient, findClientId } from './client-argument.ts'
