// The exports for commands of other plugins. They load no server code.

export { errorExplanationSlot } from './error-explanation.ts'
export { filledBare } from './program/installed-commands.ts'
export { cut, pad, widthOf } from './terminal/column-width.ts'
export { parseDuration } from './terminal/parse-duration.ts'
export { readFileArgument } from './terminal/read-file-argument.ts'
