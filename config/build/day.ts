// Runs the commands of docs/OPERATING.md as they are printed.
import { play } from './play.ts'

await play({ document: 'docs/OPERATING.md', listings: 26, withinSecs: 400 })
