import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { call, rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { countdown } from '../../format.ts'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { useNow } from '../../parts/use-now.ts'
import { text } from '../../text/text.ts'

/** Enrollment commands that were not run yet and are still valid. */
export function PendingEnrollments() {
  const enrollments = useQuery({
    queryKey: ['enrollments'],
    queryFn: () => rows('GET /v1/client-enrollments')
  })
  const now = useNow(1000)
  const mayCancel = useRight('managesAll')
  const cancel = useMutation({
    mutationFn: (enrollment_id: string) =>
      call('DELETE /v1/client-enrollments/{enrollment_id}', { path: { enrollment_id } })
  })
  const open = enrollments.data?.filter(({ expires_at }) => Date.parse(expires_at) > now) ?? []
  if (open.length === 0) return null
  return (
    <Section title={text.clients.pendingCommands}>
      <PlainTable
        label={text.clients.pendingCommands}
        columns={[
          { title: text.clients.name },
          { title: text.clients.createdBy },
          { title: text.clients.validFor, numeric: true },
          ...(mayCancel ? [{ title: text.clients.cancel }] : [])
        ]}
        rows={open.map(({ enrollment_id, client_name, created_by, expires_at }) => ({
          key: enrollment_id,
          cells: [
            client_name,
            created_by,
            countdown((Date.parse(expires_at) - now) / 1000),
            ...(mayCancel
              ? [
                  <Button
                    key="cancel"
                    size="compact-xs"
                    variant="default"
                    aria-label={text.clients.cancelFor(client_name)}
                    onClick={() => cancel.mutate(enrollment_id)}
                  >
                    {text.clients.cancel}
                  </Button>
                ]
              : [])
          ]
        }))}
      />
    </Section>
  )
}
