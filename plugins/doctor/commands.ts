import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { lockStore } from '../../kernel/store/data-dir.ts'
import { checkSlot, type DoctorCheck, type DoctorContext, type Finding } from './exports.ts'

export const doctorFailed = defineCode('doctor_failed', 500, 1)

const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check ports, disk, clock, certificate, endpoint and agents; the server may run.',
  needs: 'data',
  reads: [checkSlot],
  async run({ dataDir, keys, filled, print }) {
    const dir = dataDir()
    const context = { dataDir: dir, keys: keys(), isRunning: isLocked(dir) }
    const rows = []
    for (const { value: check } of filled(checkSlot))
      for (const finding of await examine(check, context)) rows.push(rowOf(check, finding))
    print.data(rows, ['check', 'is', 'says'])
    for (const { check, is, says, remedy } of rows)
      if (remedy !== null) print.line(`\n${is}, ${check}: ${says}\n  ${remedy}`)
    const failed = rows.filter(row => row.is === 'fail').length
    if (failed > 0) throw new Fault(doctorFailed, `${failed} of ${rows.length} checks failed`)
  }
})

export const commands = [doctor]

/** Returns a finding as the command prints it. */
const rowOf = ({ name }: DoctorCheck, { status, message, ...more }: Finding) => ({
  check: name,
  remedy: null,
  is: status,
  says: message,
  ...more
})

async function examine({ run }: DoctorCheck, context: DoctorContext): Promise<readonly Finding[]> {
  try {
    const found = await run(context)
    return Array.isArray(found) ? found : [found as Finding] // readonly arrays escape isArray
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return [{ status: 'fail', message, remedy: 'solve this problem first' }]
  }
}

/** Tries the lock of the data directory, and releases it at once. */
function isLocked(dataDir: string): boolean {
  if (!existsSync(join(dataDir, 'lock.db'))) return false
  try {
    void lockStore(dataDir)()
    return false
  } catch (error) {
    if (error instanceof Fault) return true
    throw error
  }
}
