// Runs the commands of docs/OPERATING.md as they are printed.
import { play } from './play.ts'

await play({ document: 'docs/OPERATING.md', listings: 27, withinSecs: 400 })
