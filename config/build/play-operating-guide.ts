// Runs the commands of docs/OPERATING.md as printed.
import { play } from './play.ts'

await play({ document: 'docs/OPERATING.md', listings: 28, withinSecs: 400 })
