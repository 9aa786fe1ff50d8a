// Plays the operator's day, by the documentation alone.
import { play } from './play.ts'

await play({ document: 'config/OPERATING.md', listings: 25, withinSecs: 400 })
