/**
 * `detent.send` and `detent.start`: functions by which any client of the database sends an event or starts an instance in a transaction of
 * its own. They store a command in the inbox of the machine, a queue that the engines of this machine serve: what they carry out is claimed,
 * retried, listed and kept as a dead letter like every command.
 *
 * - The commands of one instance are ordered. The instance may not exist yet, so they are ordered by a hash of its key, which is negative
 *   and therefore no row key of an instance. Two instances with the same hash wait for each other, and nothing else.
 * - The functions run with the rights of their owner, so that a role of an application needs no rights on the tables. No role may call them
 *   until it is granted `execute`.
 */
import { inboxOf } from "../contract/Inbox.ts"

/** The longest key of a command or name of a queue, in bytes, as every store takes it. */
const nameBytes = 1400

const refuse = (condition: string, problem: string, nextStep: string): string => `
  if ${condition} then
    raise exception using errcode = 'invalid_parameter_value', message = ${problem}, hint = ${nextStep};
  end if;`

const receiveFunction = (schema: string): string => `
create function ${schema}.receive(machine text, id text, action text, body jsonb, key text, name text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $function$
#variable_conflict use_column
declare
  moment bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  inbox text := '${inboxOf("")}' || receive.machine;
  stored bigint;
begin${refuse("coalesce(receive.machine, '') = '' or coalesce(receive.id, '') = ''", "'the machine and the id must not be empty'", "'name the instance, as in (''order'', ''o-7'')'")}
  ${refuse(`octet_length(inbox) > ${nameBytes} or octet_length(receive.name) > ${nameBytes}`, "'the machine, or the id with the key, is too long'", "'use a shorter key, such as a digest'")}
  insert into ${schema}.commands (instance, run_at, enqueued_at, sequence, ordered, queue, key, slot, parameters)
  values (
    -1 - (hashtextextended(receive.machine || chr(1) || receive.id, 0) & 9223372036854775807), moment, moment, -1, true, inbox,
    receive.name, receive.action, jsonb_build_object('id', receive.id, 'body', receive.body, 'key', receive.key, 'by', session_user)::text
  )
  on conflict (key, queue) do nothing
  returning commands.id into stored;
  if stored is null then
    select c.id into stored from ${schema}.commands c where c.key = receive.name and c.queue = inbox;
    return stored;
  end if;
  perform pg_notify('${schema}_commands', jsonb_build_array('', inbox)::text);
  return stored;
end
$function$`

/** Keys made in sequence lie next to each other in the index. */
const freshName = "lpad(to_hex((extract(epoch from clock_timestamp()) * 1000000)::bigint), 14, '0') || '-' || gen_random_uuid()"

const definer = "language plpgsql security definer set search_path = pg_catalog, pg_temp"

const sendFunction = (schema: string): string => `
create function ${schema}.send(machine text, id text, event jsonb, key text default null) returns bigint
${definer} as $function$
begin${refuse("jsonb_typeof(send.event -> '_tag') is distinct from 'string'", "'the event is no object with a _tag'", `'pass JSON such as {"_tag": "Pay", "amount": 5}'`)}
  ${refuse("send.key = '' or left(send.key, 1) = '@'", "'the key is empty, or begins with @, which is reserved'", "'pass another key, or none'")}
  return ${schema}.receive(
    send.machine, send.id, 'send', send.event, send.key,
    case when send.key is null then ${freshName} else jsonb_build_array(send.id, send.key)::text end
  );
end
$function$`

const startFunction = (schema: string): string => `
create function ${schema}.start(machine text, id text, input jsonb default null) returns bigint
${definer} as $function$
begin${refuse("start.input is not null and jsonb_typeof(start.input) <> 'object'", "'the input is no object'", "'pass the fields of the first state as a JSON object'")}
  return ${schema}.receive(start.machine, start.id, 'start', start.input, null, ${freshName});
end
$function$`

export const inboxFunctions = (schema: string): ReadonlyArray<string> => [
  receiveFunction(schema),
  sendFunction(schema),
  startFunction(schema),
  `revoke execute on function ${schema}.receive, ${schema}.send, ${schema}.start from public`,
]
