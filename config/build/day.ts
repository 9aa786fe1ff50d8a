// Plays the operator's day, by the documentation alone.
import { play } from './play.ts'

await play({ document: 'docs/OPERATING.md', listings: 25, withinSecs: 400 })
