// Plays the guide for plugin authors.
import { play } from './play.ts'

await play({ document: 'plugins/README.md', listings: 11, withinSecs: 300, writes: 'folder' })
