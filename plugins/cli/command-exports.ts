// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.
export { secondsOf } from './duration.ts'
export { cut, pad, widthOf } from './width.ts'
