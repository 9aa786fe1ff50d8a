import { Alert } from '@mantine/core'
import { useLostAt } from '../api/reachability.ts'
import { duration } from '../format.ts'
import { useNow } from '../parts/use-now.ts'
import { text } from '../text/text.ts'

/** Warns while the server does not answer, with the age of the shown data. */
export function ConnectionLost() {
  const lostAt = useLostAt()
  return (
    <div role="status" className="lost">
      {lostAt !== null && (
        <Alert color="orange" variant="default">
          <Age since={lostAt} />
        </Alert>
      )}
    </div>
  )
}

function Age({ since }: { readonly since: number }) {
  const now = useNow(1000)
  return text.connectionLost(duration(Math.max(0, now - since)))
}
