// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.

export { cut, pad, widthOf } from './terminal/column-width.ts'
export { parseDuration } from './terminal/parse-duration.ts'
