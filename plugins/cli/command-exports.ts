// The exports for commands of other plugins. They load no server code.

export { cut, pad, widthOf } from './terminal/column-width.ts'
export { parseDuration } from './terminal/parse-duration.ts'
