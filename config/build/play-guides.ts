// Runs the commands of the guides for operators as printed.
import { play } from './play.ts'

await play({ document: 'docs/OPERATING.md', listings: 28, withinSecs: 400 })
await play({ document: 'docs/LINKS.md', listings: 12, withinSecs: 200 })
