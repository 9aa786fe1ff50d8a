// Runs the commands of the guide for plugin authors as printed.
import { play } from './play.ts'

await play({ document: 'plugins/README.md', listings: 23, withinSecs: 300, writes: 'folder' })
