package powertest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Object is one of an agent's: its number, its type as snmpd's pass has it
// ("integer", "gauge", "string") and its value.
type Object struct{ OID, Type, Value string }

// The credentials of every peer.
const (
	User     = "tare"
	Secret   = "secret-of-tare"
	BMCUser  = "tare"
	BMCWord  = "secret"
	privacy  = "privacy-of-tare"
	sysOID   = ".1.3.6.1.4.1.13742.6"
	passRoot = ".1.3.6.1.4.1"
)

// Privacy is the second secret of an SNMP user.
const Privacy = privacy

// SNMP is an agent of Debian's snmpd.
type SNMP struct {
	Address string // host:port
	// Stop keeps it from answering.
	Stop  func()
	table string
}

// pass answers snmpd's questions from a table: "OID type value" a line
// (snmpd.conf(5), pass_persist; plain pass caches its answers).
const pass = `while read -r command; do
	case $command in
	PING) echo PONG ;;
	get)
		read -r wanted
		answer=NONE
		while read -r oid type value; do
			if [ "$oid" = "$wanted" ]; then
				answer="$oid
$type
$value"
			fi
		done <"${0%/*}/table"
		printf '%s\n' "$answer"
		;;
	getnext)
		read -r wanted
		echo NONE
		;;
	*) exit 0 ;;
	esac
done
`

// StartSNMP runs snmpd with the vendors' objects as they follow from the script;
// maker is what it says it is, by its sysObjectID.
func StartSNMP(t *testing.T, s *Script, maker string, objects func(watts int) []Object) *SNMP {
	t.Helper()
	program := need(t, "snmpd", "snmpd")
	dir := t.TempDir()
	a := &SNMP{table: filepath.Join(dir, "table")}
	s.follow(t, a.table, func(watts int) string { return tableOf(objects(watts)) })
	if err := os.WriteFile(filepath.Join(dir, "pass"), []byte(pass), 0o755); err != nil {
		t.Fatal(err)
	}
	a.Address = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	if maker == "" {
		maker = sysOID
	}
	conf := strings.Join([]string{
		"agentaddress udp:" + a.Address,
		"rocommunity public 127.0.0.1",
		"rocommunity " + Secret + " 127.0.0.1",
		"createUser " + User + " SHA " + Secret + " AES " + privacy,
		"rouser " + User + " priv",
		"sysobjectid " + maker,
		"pass_persist " + passRoot + ".318 /bin/sh " + dir + "/pass",
		"pass_persist " + passRoot + ".534 /bin/sh " + dir + "/pass",
		"pass_persist " + passRoot + ".232 /bin/sh " + dir + "/pass",
		"pass_persist " + passRoot + ".13742 /bin/sh " + dir + "/pass",
	}, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "snmpd.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	// The vendors' MIBs are not needed, and the others are not installed.
	env := []string{"SNMP_PERSISTENT_DIR=" + filepath.Join(dir, "state"), "MIBS="}
	a.Stop = run(t, dir, env, program, "-f", "-LE", "4", "-C", "-c", filepath.Join(dir, "snmpd.conf"), "-I", "-smux", "-p", filepath.Join(dir, "pid"))
	ready(t, "snmpd", func() error { return ping(a.Address) })
	return a
}

// Say gives the agent's objects another content, whatever the script says.
func (a *SNMP) Say(t *testing.T, objects ...Object) {
	t.Helper()
	if err := replace(a.table, tableOf(objects)); err != nil {
		t.Fatal(err)
	}
}

func tableOf(objects []Object) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "%s %s %s\n", o.OID, o.Type, o.Value)
	}
	return b.String()
}

// ping asks an agent for sysObjectID by SNMPv2c, community public.
func ping(address string) error {
	question := []byte{0x30, 0x29, 2, 1, 1, 4, 6, 'p', 'u', 'b', 'l', 'i', 'c', 0xa0, 0x1c, 2, 4, 1, 2, 3, 4, 2, 1, 0, 2, 1, 0,
		0x30, 0x0e, 0x30, 0x0c, 6, 8, 0x2b, 6, 1, 2, 1, 1, 2, 0, 5, 0}
	c, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := c.Write(question); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1500))
	return err
}
