import { useQuery } from '@tanstack/react-query'
import { call, type Row, rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { count } from '../../format.ts'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { SectionWithForm } from '../../parts/page/SectionWithForm.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { NewKey } from './NewKey.tsx'

type Key = Row<'GET /v1/enrollment-keys'>

/** Keys that enroll many hosts. */
export function EnrollmentKeys() {
  const mayManage = useRight('managesAll')
  const keys = useQuery({
    queryKey: ['enrollment-keys'],
    queryFn: () => rows('GET /v1/enrollment-keys')
  })
  return (
    <SectionWithForm
      title={text.enrollmentKeys.title}
      note={text.enrollmentKeys.text}
      addLabel={text.enrollmentKeys.add}
      mayAdd={mayManage}
      form={close => <NewKey onDone={close} />}
    >
      {keys.data !== undefined && keys.data.length > 0 && (
        <PlainTable
          label={text.enrollmentKeys.title}
          columns={[
            { title: text.enrollmentKeys.label },
            { title: text.clients.state },
            { title: text.enrollmentKeys.used, numeric: true },
            { title: text.enrollmentKeys.clients, numeric: true },
            { title: text.enrollmentKeys.expires },
            ...(mayManage ? [{ title: text.clients.delete }] : [])
          ]}
          rows={keys.data.map(key => ({
            key: key.key_id,
            cells: mayManage ? [...factsOf(key), deleteButton(key)] : factsOf(key)
          }))}
        />
      )}
    </SectionWithForm>
  )
}

const factsOf = (key: Key) => [
  key.label,
  text.enrollmentKeys.states[key.state],
  key.uses === null ? count(key.used) : `${count(key.used)} / ${count(key.uses)}`,
  count(key.clients),
  key.expires_at === null ? text.when.never : <Timestamp key="expires" at={key.expires_at} />
]

const deleteButton = (key: Key) => (
  <ConfirmButton
    key="delete"
    button={{ size: 'compact-xs', 'aria-label': text.enrollmentKeys.deleteFor(key.label) }}
    title={text.enrollmentKeys.confirmDelete(key.label)}
    action={text.clients.delete}
    run={() => call('DELETE /v1/enrollment-keys/{key_id}', { path: { key_id: key.key_id } })}
  >
    {text.enrollmentKeys.deleteText}
  </ConfirmButton>
)
