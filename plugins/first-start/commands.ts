import { setup } from './setup.ts'
import { up } from './up.ts'

export const commands = [setup, up]
