import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { lockStore } from '../../kernel/store/lock.ts'
import { checkSlot, type DoctorCheck, type Finding, type Place } from './exports.ts'

export const doctorFailed = defineCode('doctor_failed', 500, 1)

const doctor = defineCommand({
  name: 'doctor',
  summary: 'Look at ports, disk, clock, certificate, endpoint and agents; the server may run.',
  needs: 'data',
  async run({ dataDir, keys, filled, print }) {
    const dir = dataDir()
    const place = { dataDir: dir, keys: keys(), isRunning: isHeld(dir) }
    const rows = []
    for (const { value: check } of filled(checkSlot))
      for (const finding of await examine(check, place))
        rows.push({ check: check.name, remedy: null, ...finding })
    print.data(rows, ['check', 'is', 'says'])
    for (const { check, is, says, remedy } of rows)
      if (remedy !== null) print.line(`\n${is}, ${check}: ${says}\n  ${remedy}`)
    const failed = rows.filter(row => row.is === 'fail').length
    if (failed > 0) throw new Fault(doctorFailed, `${failed} of ${rows.length} checks failed`)
  }
})

export const commands = [doctor]

async function examine({ run }: DoctorCheck, place: Place): Promise<readonly Finding[]> {
  try {
    const found = await run(place)
    return Array.isArray(found) ? found : [found as Finding] // readonly arrays escape isArray
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    return [{ is: 'fail', says, remedy: 'put that right first' }]
  }
}

/** By its lock: held for a moment ourselves, when nobody has it. */
function isHeld(dataDir: string): boolean {
  if (!existsSync(join(dataDir, 'lock.db'))) return false
  try {
    void lockStore(dataDir)()
    return false
  } catch (error) {
    if (error instanceof Fault) return true
    throw error
  }
}
